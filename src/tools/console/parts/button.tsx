import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';

interface ButtonProps extends Omit<JSX.IntrinsicElements['button'], 'class' | 'kind'> {
  readonly kind?: 'primary' | 'danger' | 'plain' | 'quiet';
  /** Keeps its place and cannot be pressed. */
  readonly busy?: boolean;
  readonly children?: ComponentChildren;
}

export function Button({ kind = 'plain', busy = false, disabled, children, ...rest }: ButtonProps) {
  return (
    <button type="button" {...rest} class={`button ${kind}`} disabled={disabled} aria-disabled={busy} aria-busy={busy}>
      {children}
    </button>
  );
}

interface CopyButtonProps {
  readonly label: string;
  /** Called when it is pressed. */
  readonly text: () => string;
}

/** Copies a text, and says so on the button for a moment. */
export function CopyButton({ label, text }: CopyButtonProps) {
  const [said, setSaid] = useState<string>();
  const press = () => {
    setSaid(copy(text()) ? 'Copied' : 'Not copied');
    setTimeout(() => setSaid(undefined), 2000);
  };
  return (
    <Button onClick={press}>
      <span aria-live="polite">{said ?? label}</span>
    </Button>
  );
}

/** Puts text on the clipboard. The newer way is not there on plain HTTP, and our own policy has it off. @returns whether it is there */
function copy(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'visually-hidden';
  const focused = document.activeElement;
  // Beside what has the focus: a modal dialog lets nothing else be selected.
  (focused?.parentElement ?? document.body).append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return copied;
}
