import { useEffect, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { someOf } from '../parts/counted.ts';
import { Text } from '../parts/text.tsx';
import { Time } from '../parts/time.tsx';
import type { Connection } from '../state/connection.ts';
import { href } from '../state/route.ts';
import { useNow } from '../state/use-now.ts';
import { useStore } from '../state/use-store.ts';

/** How long something must last before a banner says so, in milliseconds: most changes are everywhere sooner. */
const SETTLE_MS = 2000;

interface BannersProps {
  readonly connection: Connection;
}

/** What everybody should know now: a lost connection, an outage, a change that is not everywhere, whose settings these are. */
export function Banners({ connection }: BannersProps) {
  return (
    <div class="banners">
      <LostLink connection={connection} />
      <Outage connection={connection} />
      <Behind connection={connection} />
      <ChosenTenant connection={connection} />
    </div>
  );
}

function LostLink({ connection }: BannersProps) {
  const link = useStore(connection, (state) => state.link);
  const known = useStore(connection, (state) => state.categories !== undefined);
  const since = link.state === 'lost' ? link.since : undefined;
  const now = useNow();
  if (link.state !== 'lost' || since === undefined || now - since < SETTLE_MS / 2) return null;
  const seconds = Math.max(0, Math.ceil((link.retryAt - now) / 1000));
  return (
    <div class="banner error" role="status">
      <strong>{link.problem.title}.</strong>{' '}
      {known && (
        <>
          What you see is as of <Time at={new Date(since).toISOString()} />.{' '}
        </>
      )}
      <span aria-hidden="true">{seconds === 0 ? 'Trying now …' : `Trying again in ${seconds} s.`}</span>{' '}
      <Button kind="quiet" onClick={() => connection.wake()}>
        Try now
      </Button>
    </div>
  );
}

function Outage({ connection }: BannersProps) {
  const health = useStore(connection, (state) => state.health);
  const failing = health?.checks.filter(({ status }) => status !== 'pass') ?? [];
  if (failing.length === 0) return null;
  const store = failing.some(({ name }) => name === 'store');
  return (
    <div class={`banner ${health?.status === 'unhealthy' ? 'error' : 'warning'}`} role="status">
      {store ? (
        <>
          <strong>The store cannot be reached.</strong> A change reaches only the process that answers, until the store
          is back.{' '}
        </>
      ) : (
        <>
          <strong>The service is {health?.status}:</strong>{' '}
          <Text value={failing.map(({ name, otelrdcp_reason: why }) => (why ? `${name}: ${why}` : name)).join('; ')} />.{' '}
        </>
      )}
      <a href={href('health')}>Health</a>
    </div>
  );
}

function Behind({ connection }: BannersProps) {
  const fleet = useStore(connection, (state) => state.fleet);
  const behind = useLasting(fleet !== undefined && fleet.pending.length > 0);
  if (!behind || fleet === undefined) return null;
  return (
    <div class="banner warning" role="status">
      <strong>
        A change is not everywhere yet: applied by {fleet.applied} of {fleet.instances}.
      </strong>{' '}
      Behind: <Text value={someOf(fleet.pending.map((id) => connection.processName(id)))} />.{' '}
      <a href={href('fleet')}>Fleet</a>
    </div>
  );
}

function ChosenTenant({ connection }: BannersProps) {
  const tenant = useStore(connection, (state) => state.tenant);
  if (tenant === undefined) return null;
  return (
    <div class="banner one-tenant" role="status">
      You see and change{' '}
      <strong>
        <Text value={tenant} most={64} />
      </strong>{' '}
      alone.
    </div>
  );
}

/** True once something has been so for a while. */
function useLasting(value: boolean): boolean {
  const [lasting, setLasting] = useState(false);
  useEffect(() => {
    if (!value) {
      setLasting(false);
      return undefined;
    }
    const timer = setTimeout(() => setLasting(true), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return value && lasting;
}
