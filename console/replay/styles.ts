/** The look of the page around the player, whose own styles come with it. */
export const STYLES = `
* { box-sizing: border-box }
body { margin: 0; font: 14px/1.4 system-ui, sans-serif; color: #222; background: #f4f4f6 }
#replay { display: flex; flex-direction: column; gap: 8px; height: 100vh; padding: 8px }
header { display: flex; gap: 8px; align-items: center; flex-wrap: wrap }
nav { display: flex; gap: 4px; flex: 1; overflow-x: auto }
nav button { font: inherit; padding: 4px 10px; border: 1px solid #ccd; border-radius: 6px; background: #fff; white-space: nowrap;
  max-width: 22em; overflow: hidden; text-overflow: ellipsis; cursor: pointer; flex: none }
nav button[aria-selected="true"] { border-color: #4950f6; color: #4950f6 }
.note { margin: 0; padding: 6px 10px; background: #fff3d0; border-radius: 6px }
.stage { flex: 1; min-height: 0; display: flex; justify-content: center }
`;
