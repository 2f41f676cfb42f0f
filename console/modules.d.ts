/** Style sheets are bundled as texts (scripts/bundle-player.ts). */
declare module "*.css" {
  const text: string;
  export default text;
}

/** rrweb-player has Svelte compiled in and its types by reference only. */
declare module "svelte" {
  export class SvelteComponent<Props = unknown, Events = unknown, Slots = unknown> {
    readonly $$types: [Props, Events, Slots];
    $destroy(): void;
  }
}
