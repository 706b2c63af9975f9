import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface MenuProps {
  readonly label: ComponentChildren;
  /** Class of what opens it. */
  readonly kind?: string;
  readonly children: ComponentChildren;
}

/** What opens below a button, and closes with a click beside it, or when the focus goes elsewhere. */
export function Menu({ label, kind, children }: MenuProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  /** @param next `null` where nothing has the focus: a button in the menu that is busy loses it */
  const closeUnlessIn = (next: EventTarget | null) => {
    if (menu.current !== null && next instanceof Node && !menu.current.contains(next)) menu.current.open = false;
  };
  useEffect(() => {
    const pressed = ({ target }: Event) => closeUnlessIn(target);
    addEventListener('pointerdown', pressed);
    return () => removeEventListener('pointerdown', pressed);
  }, []);
  return (
    <details
      class="menu"
      ref={menu}
      onKeyDown={closeOnEscape}
      onFocusOut={({ relatedTarget }) => closeUnlessIn(relatedTarget)}
    >
      <summary class={kind}>{label}</summary>
      {/* It takes the focus of a click inside it, so text in it can be selected. On the element around it, a tabindex would take the key Tab from all inside. */}
      <div class="menu-body" tabIndex={-1}>
        {children}
      </div>
    </details>
  );
}

function closeOnEscape(event: KeyboardEvent): void {
  const menu = event.currentTarget;
  if (event.key !== 'Escape' || !(menu instanceof HTMLDetailsElement)) return;
  event.stopPropagation();
  menu.open = false;
  menu.querySelector('summary')?.focus();
}
