import { useRef, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Notice } from '../parts/notice.tsx';
import type { Connection } from '../state/connection.ts';
import { kindOf } from '../state/credential.ts';
import type { Problem } from '../state/problem.ts';
import { useStore } from '../state/use-store.ts';

/** Asks for a credential. Used as a page, and over the views when a session has expired. */
export function SignIn({ connection }: { readonly connection: Connection }) {
  const server = useStore(connection, (state) => state.server);
  const before = useStore(connection, (state) => state.problem);
  const [problem, setProblem] = useState<Problem | undefined>(before);
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const methods = server?.security.methods ?? [];

  async function submit(event: Event): Promise<void> {
    event.preventDefault();
    const input = field.current;
    const value = input?.value.trim() ?? '';
    if (input === null || value === '') return;
    setBusy(true);
    const refused = await connection.signIn({ kind: kindOf(value, methods), value });
    setBusy(false);
    input.value = '';
    setProblem(refused);
    if (refused !== undefined) input.focus();
  }

  return (
    <form class="sign-in" onSubmit={(event) => void submit(event)}>
      <label for="credential">API key or token</label>
      <input
        ref={field}
        id="credential"
        type="password"
        autocomplete="off"
        spellcheck={false}
        autofocus
        required
        aria-describedby={problem === undefined ? undefined : 'credential-problem'}
      />
      {problem && (
        <div id="credential-problem">
          <Notice problem={problem} />
        </div>
      )}
      <Button type="submit" kind="primary" busy={busy}>
        Sign in
      </Button>
    </form>
  );
}
