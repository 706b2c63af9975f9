import { useState } from 'preact/hooks';
import { connection, state } from '../page.ts';
import { Button } from '../parts/button.tsx';
import { Notice } from '../parts/notice.tsx';
import { useFocus } from '../parts/use-focus.ts';
import { type Credential, credentialOf } from '../state/credential.ts';
import type { Problem } from '../state/problem.ts';

/**
 * Asks for a credential. It stays in the memory of this page alone.
 * @param again over the views, because a session has ended
 */
export function SignIn({ again = false }: { readonly again?: boolean }) {
  const server = state.server.value;
  const before = state.problem.value;
  const [refused, setRefused] = useState<Problem | undefined>();
  const [busy, setBusy] = useState(false);
  const field = useFocus<HTMLInputElement>();
  const methods = server?.security.methods ?? [];
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
    if (value !== '') void signIn(credentialOf(value, methods));
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
        aria-invalid={problem?.status === 401}
        aria-describedby="credential-help"
      />
      <p id="credential-help" class="muted">
        It stays in the memory of this page alone.
        {methods.length > 1 && ' Put “Bearer ” before an opaque token.'}
      </p>
      {problem && <Notice problem={problem} />}
      <div class="bar">
        <Button type="submit" kind="primary" busy={busy}>
          {busy ? 'Signing in …' : 'Sign in'}
        </Button>
        {again && <Button onClick={() => connection.signOut()}>Sign out</Button>}
      </div>
      {!again && <WaysIn />}
    </form>
  );
}

/** Where a credential comes from. */
function WaysIn() {
  const isLocal = /^(?:localhost|127\.|\[::1\])/.test(location.hostname);
  return (
    <div class="muted ways-in">
      <p>
        On the machine of the service, <code>rdcp console</code> opens this page signed in.
      </p>
      {isLocal && (
        <p>
          A service without configured credentials has its development key in <code>.rdcp/dev-key</code>, in the folder
          that it was started in.
        </p>
      )}
      <p>
        The owner of the service creates an API key with <code>rdcp keys create</code>.
      </p>
    </div>
  );
}
