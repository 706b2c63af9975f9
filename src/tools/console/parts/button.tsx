import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { connection } from '../page.ts';

interface ButtonProps extends Omit<JSX.IntrinsicElements['button'], 'class' | 'kind' | 'onClick'> {
  readonly kind?: 'primary' | 'danger' | 'plain' | 'quiet' | 'quiet close';
  /** Keeps its place and cannot be pressed. @default while a promise of `onClick` is pending */
  readonly busy?: boolean;
  /** A promise that it returns is waited for, and its error is shown. */
  readonly onClick?: () => unknown;
  readonly children?: ComponentChildren;
}

export function Button({ kind = 'plain', busy: isBusy = false, onClick, children, ...rest }: ButtonProps) {
  const [runs, setRuns] = useState(false);
  const busy = isBusy || runs;
  const press = async () => {
    const result = busy ? undefined : onClick?.();
    if (!(result instanceof Promise)) return;
    setRuns(true);
    await result.catch((error) => connection.showProblem(error));
    setRuns(false);
  };
  return (
    <button type="button" {...rest} class={`button ${kind}`} aria-disabled={busy} aria-busy={busy} onClick={press}>
      {children}
    </button>
  );
}

interface ToggleProps {
  readonly pressed: boolean;
  readonly onPress: (pressed: boolean) => void;
  readonly children: ComponentChildren;
}

export function Toggle({ pressed, onPress, children }: ToggleProps) {
  return (
    <button type="button" class="filter" aria-pressed={pressed} onClick={() => onPress(!pressed)}>
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
