import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { useFocus } from './use-focus.ts';

interface DialogProps {
  readonly title: ComponentChildren;
  /** Absent: the dialog cannot be closed. */
  readonly onClose?: () => void;
  readonly children: ComponentChildren;
}

/** A modal dialog. The focus stays in it, and goes back to where it was. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Before the next key, which may be meant for the dialog.
  useLayoutEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    return () => {
      element?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
    >
      <div class="bar tight dialog-head">
        <h2 id={id}>{title}</h2>
        {onClose && (
          <Button kind="quiet close" aria-label="Close" onClick={onClose}>
            ×
          </Button>
        )}
      </div>
      {children}
    </dialog>
  );
}

interface QuestionProps {
  readonly title: string;
  readonly label: string;
  readonly help: string;
  /** Of the button. */
  readonly verb: string;
  readonly isValid: (text: string) => boolean;
  readonly onAnswer: (text: string) => void;
  readonly onClose: () => void;
}

/** Asks for one text. */
export function Question({ title, label, help, verb, isValid, onAnswer, onClose }: QuestionProps) {
  const field = useFocus<HTMLInputElement>();
  const id = useId();
  const [wrong, setWrong] = useState(false);
  const submit = (event: Event) => {
    event.preventDefault();
    // It may be within the form of another dialog.
    event.stopPropagation();
    const text = field.current?.value.trim() ?? '';
    setWrong(!isValid(text));
    if (!isValid(text)) return;
    onClose();
    onAnswer(text);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="switch" onSubmit={submit} noValidate>
        <label class="field">
          <span>{label}</span>
          <input ref={field} autocomplete="off" spellcheck={false} aria-invalid={wrong} aria-describedby={id} />
        </label>
        <p id={id} class={wrong ? 'wrong' : 'muted'} role={wrong ? 'alert' : undefined}>
          {help}
        </p>
        <div class="bar">
          <Button type="submit" kind="primary">
            {verb}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
