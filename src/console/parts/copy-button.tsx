import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { copy } from './copy.ts';

export interface CopyButtonProps {
  readonly label: string;
  /** Called when it is pressed. */
  readonly text: () => string;
  readonly disabled?: boolean;
}

/** Copies a text, and says so on the button for a moment. */
export function CopyButton({ label, text, disabled = false }: CopyButtonProps) {
  const [said, setSaid] = useState<string>();
  const press = async () => {
    setSaid((await copy(text())) ? 'Copied' : 'Not copied');
    setTimeout(() => setSaid(undefined), 2000);
  };
  return (
    <Button disabled={disabled} onClick={() => void press()}>
      <span role="status">{said ?? label}</span>
    </Button>
  );
}
