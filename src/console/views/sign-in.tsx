import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Notice } from '../parts/notice.tsx';
import { useFocus } from '../parts/use-focus.ts';
import type { Connection } from '../state/connection.ts';
import { type Credential, kindOf } from '../state/credential.ts';
import type { Problem } from '../state/problem.ts';
import { useStore } from '../state/use-store.ts';

interface SignInProps {
  readonly connection: Connection;
  /** Over the views, because a session has ended. */
  readonly again?: boolean;
}

/** Asks for a credential. It stays in the memory of this page alone. */
export function SignIn({ connection, again = false }: SignInProps) {
  const server = useStore(connection, (state) => state.server);
  const before = useStore(connection, (state) => state.problem);
  const [refused, setRefused] = useState<Problem | undefined>();
  const [busy, setBusy] = useState(false);
  const field = useFocus<HTMLInputElement>();
  const methods = server?.security.methods ?? [];
  const [kind, setKind] = useState<'' | 'api-key' | 'bearer'>('');
  const what = !methods.includes('bearer') ? 'API key' : !methods.includes('api-key') ? 'Token' : 'API key or token';
  const problem = refused ?? before;

  async function signIn(credential: Credential): Promise<void> {
    if (busy) return;
    setBusy(true);
    const reason = await connection.signIn(credential);
    setBusy(false);
    setRefused(reason);
    if (field.current === null) return;
    field.current.value = '';
    if (reason !== undefined) field.current.focus();
  }

  function submit(event: Event): void {
    event.preventDefault();
    const value = field.current?.value.trim() ?? '';
    if (value !== '') void signIn({ kind: kind === '' ? kindOf(value, methods) : kind, value });
  }

  return (
    <form class="sign-in" onSubmit={submit}>
      <label for="credential">{what}</label>
      <input
        ref={field}
        id="credential"
        type="password"
        autocomplete="off"
        spellcheck={false}
        required
        aria-invalid={problem?.kind === 'unauthenticated'}
        aria-describedby="credential-help"
      />
      <p id="credential-help" class="muted">
        {server?.security.tokenRefresh === true
          ? 'It is exchanged for a short session and then forgotten. Nothing is kept in the browser.'
          : 'It is kept in the memory of this page alone, and gone when you close or reload it.'}
      </p>
      {methods.includes('bearer') && methods.includes('api-key') && (
        <label class="inline">
          It is{' '}
          <select value={kind} onChange={({ currentTarget }) => setKind(currentTarget.value as typeof kind)}>
            <option value="">recognized by its form</option>
            <option value="api-key">an API key</option>
            <option value="bearer">a token</option>
          </select>
        </label>
      )}
      {problem && <Notice problem={problem} />}
      <div class="buttons">
        <Button type="submit" kind="primary" busy={busy}>
          {busy ? 'Signing in …' : 'Sign in'}
        </Button>
        {methods.includes('mtls') && (
          <Button onClick={() => void signIn({ kind: 'connection' })}>Use this browser’s certificate</Button>
        )}
        {again && <Button onClick={() => void connection.signOut()}>Sign out</Button>}
      </div>
    </form>
  );
}
