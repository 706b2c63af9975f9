import type { Connection } from '../state/connection.ts';
import { Empty } from './notice.tsx';

/** What the credential may not do, and what it may. */
export function Lacking({ connection, title }: { readonly connection: Connection; readonly title: string }) {
  return (
    <Empty title={title}>
      <p>Your credential has {connection.session?.scopes.join(', ') || 'no scope'}.</p>
    </Empty>
  );
}
