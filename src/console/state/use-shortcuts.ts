import { useEffect, useRef } from 'preact/hooks';
import type { Connection } from './connection.ts';
import { ShortcutKeys, type Shortcuts } from './shortcuts.ts';

const TYPING = 'input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]';

/** Single keys, while nobody types and no dialog is open. */
export function useShortcuts({ store }: Connection, shortcuts: Shortcuts): void {
  const current = useRef(shortcuts);
  current.current = shortcuts;
  useEffect(() => {
    const keys = new ShortcutKeys();
    const pressed = (event: KeyboardEvent) => {
      if (!store.state.shortcuts || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target instanceof Element && event.target.closest(TYPING)) return;
      if (document.querySelector('dialog[open]') !== null) return;
      const found = keys.find(event.key, current.current, event.timeStamp);
      if (found === undefined) return;
      event.preventDefault();
      found();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [store]);
}
