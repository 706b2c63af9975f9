import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { copy } from './copy.ts';

export interface CopyButtonProps {
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
