import type { ComponentChildren, JSX } from 'preact';

export interface ButtonProps extends Omit<JSX.IntrinsicElements['button'], 'class' | 'kind'> {
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
