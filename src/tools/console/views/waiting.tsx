import { changeText } from '../../../wire/change-text.ts';
import type { WaitingChange } from '../../../wire/messages.ts';
import { connection, now, state } from '../page.ts';
import { Button } from '../parts/button.tsx';
import { Text } from '../parts/text.tsx';
import { TimeLeft } from '../parts/time.tsx';

/** Changes that are shown at a time. `rdcp approve` lists all. */
const MOST = 3;

/** Changes that wait for an administrator, who may be looking at something else. */
export function Waiting() {
  const waiting = state.waiting.value.filter(({ expiresAt }) => Date.parse(expiresAt) > now.value);
  const more = waiting.length - MOST;
  return (
    <>
      {waiting.slice(0, MOST).map((change) => (
        <WaitingBanner key={change.id} change={change} />
      ))}
      {more > 0 && (
        <div class="banner warning" role="status">
          {more} more wait: <code>rdcp approve</code> lists them.
        </div>
      )}
    </>
  );
}

function WaitingBanner({ change }: { readonly change: WaitingChange }) {
  const { id, by, tenant, options, problem, expiresAt } = change;
  const isOwn = by.userId === state.session.value?.userId;
  return (
    <section class="banner warning" aria-label={`Change ${id} waits for an approval`}>
      <span role="status">
        <strong>
          <Text value={by.userId ?? by.clientId ?? 'Somebody'} most={64} /> asks for an approval
          {tenant !== undefined && (
            <>
              {' '}
              for <Text value={tenant} most={64} />
            </>
          )}
          :
        </strong>{' '}
        <code>
          <Text value={changeText(change)} most={500} />
        </code>
        {options?.reason !== undefined && (
          <>
            {' '}
            because “<Text value={String(options.reason)} most={200} />”
          </>
        )}
        . {isOwn ? 'You' : 'They'} may not do it alone: <Text value={problem} most={300} />.
      </span>{' '}
      <TimeLeft until={expiresAt} />{' '}
      {isOwn ? (
        'Another user has to approve it.'
      ) : (
        <>
          <Button kind="quiet" onClick={() => connection.approve(change)}>
            Approve
          </Button>
          <Button kind="quiet" onClick={() => connection.decline(change)}>
            Decline
          </Button>
        </>
      )}
    </section>
  );
}
