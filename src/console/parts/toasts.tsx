import type { Connection } from '../state/connection.ts';
import { useStore } from '../state/use-store.ts';
import { Text } from './text.tsx';

/** Answers to changes. Those that need attention stay until somebody has seen them. */
export function Toasts({ connection }: { readonly connection: Connection }) {
  const receipts = useStore(connection, (state) => state.receipts);
  return (
    <section class="toasts" aria-label="Answers" hidden={receipts.length === 0}>
      {receipts.map(({ id, tone, title, detail }) => (
        <div key={id} class={`bar tight toast ${tone}`} role={tone === 'good' ? undefined : 'alert'}>
          <div>
            <strong>
              <Text value={title} />
            </strong>
            {detail && (
              <p>
                <Text value={detail} most={1000} />
              </p>
            )}
          </div>
          <button
            type="button"
            class="button quiet close"
            aria-label="Dismiss"
            onClick={() => connection.dismissReceipt(id)}
          >
            ×
          </button>
        </div>
      ))}
    </section>
  );
}
