# The kernel of a bash context: this shell runs cells by eval and keeps their state. The agent writes requests to fd 0, the
# run's id and the code with a NUL after each, and reads messages from fd 3, `u32be length | JSON`.
exec 9<&0 8>&3 0</dev/null 3>&-
svc_count=0 svc_run=
svc_done() {
  local text='{"kind":"done","run":"'"$svc_run"'","executionCount":'"$svc_count"',"exitCode":'"$1"'}'
  [ -n "$svc_run" ] || text='{"kind":"ready"}'
  printf "\\0\\0\\0\\x$(printf %x ${#text})%s" "$text" >&8
  svc_run=
}
# An interrupt leaves all loops at once, those of the cell and this one, and this one begins again.
svc_loop='
while IFS= read -r -d "" -u 9 svc_run && IFS= read -r -d "" -u 9 svc_code; do
  svc_count=$((svc_count + 1))
  trap "break 9999" INT
  eval "$svc_code" 8>&- 9<&-
  svc_status=$?
  trap "" INT
  svc_done $svc_status
done
trap "" INT
if [ -n "$svc_run" ]; then svc_done 130; eval "$svc_loop"; fi'
trap "" INT
svc_done
eval "$svc_loop"
