import { useEffect, useState } from 'preact/hooks';
import { connection, now, route, state } from '../page.ts';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icon.tsx';
import { Text } from '../parts/text.tsx';
import { Time } from '../parts/time.tsx';
import { progressText } from '../state/change.ts';
import { href } from '../state/route.ts';
import type { Receipt } from '../state/state.ts';
import { FleetSquares } from './fleet-squares.tsx';
import { tailOf } from './tail/running-tail.ts';
import { Waiting } from './waiting.tsx';

/** How long something must last before a banner says so, in milliseconds: most changes are everywhere sooner. */
const SETTLE_MS = 2000;

/** A lost connection, an outage, changes that are not everywhere yet or wait for an approval, the tenant whose settings these are. */
export function Banners() {
  return (
    <div class="banners">
      <LostLink />
      <Outage />
      <Behind />
      <Waiting />
      <ChosenTenant />
    </div>
  );
}

function LostLink() {
  const link = state.link.value;
  const since = 'since' in link ? link.since : undefined;
  if (since === undefined || now.value - since < SETTLE_MS / 2) return null;
  const wait = 'retryAt' in link && Math.max(0, Math.ceil((link.retryAt - now.value) / 1000));
  return (
    <div class="banner error" role="status">
      <strong>{'problem' in link ? link.problem.title : 'The service is silent'}.</strong>{' '}
      {state.categories.value && (
        <>
          What you see is as of <Time at={new Date(since).toISOString()} />.{' '}
        </>
      )}
      {wait === false ? (
        'It is connected, and sends nothing: its process may hang.'
      ) : (
        <>
          <span aria-hidden="true">{wait === 0 ? 'Trying now …' : `Trying again in ${wait} s.`}</span>{' '}
          <Button kind="quiet" onClick={() => connection.wake()}>
            Try now
          </Button>
        </>
      )}
    </div>
  );
}

function Outage() {
  const health = state.health.value;
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

function Behind() {
  const fleet = state.fleet.value;
  const behind = useLasting(fleet !== undefined && fleet.pending.length > 0);
  if (!behind || fleet === undefined) return null;
  const silent = fleet.lastSeen !== undefined;
  return (
    <div class="banner warning" role="status">
      <strong>
        {silent ? 'Not every process is heard of' : 'A change is not everywhere yet'}:{' '}
        <Text value={progressText(fleet, (id) => connection.processName(id))} />.
      </strong>{' '}
      <a href={href('fleet')}>Fleet</a>
      {fleet.members && route.value.view !== 'fleet' && (
        <FleetSquares members={fleet.members} isLost={({ id }) => fleet.lastSeen?.[id] !== undefined} />
      )}
    </div>
  );
}

function ChosenTenant() {
  const tenant = state.tenant.value;
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

/** Answers to changes. Those that need attention stay until they are dismissed. */
export function Toasts() {
  const receipts = state.receipts.value;
  return (
    <section class="toasts" aria-label="Answers" hidden={receipts.length === 0}>
      {receipts.map((receipt) => (
        <Toast key={receipt.id} receipt={receipt} />
      ))}
    </section>
  );
}

function Toast({ receipt: { id, tone, title, detail, categories, part, undo } }: { readonly receipt: Receipt }) {
  const dismiss = () => state.dismissReceipt(id);
  const [only, another] = categories ?? [];
  const isOne = only !== undefined && another === undefined;
  return (
    <div class={`bar tight toast ${tone}`} role={tone === 'good' ? undefined : 'alert'}>
      <Icon name={tone} />
      <div>
        <strong>
          <Text value={title} />
        </strong>
        {detail && (
          <p>
            <Text value={detail} most={1000} />
          </p>
        )}
        {categories && (
          <div class="bar">
            <a
              class="button quiet"
              href={isOne ? href('categories', only) : href('categories', undefined, { show: 'on' })}
            >
              Show
            </a>
            {connection.mayTail && (
              <Button kind="quiet" onClick={() => tailOf(categories, part)}>
                Tail
              </Button>
            )}
            {undo && (
              <Button
                kind="quiet"
                onClick={() => {
                  dismiss();
                  return undo();
                }}
              >
                Undo
              </Button>
            )}
          </div>
        )}
      </div>
      <Button kind="quiet close" aria-label="Dismiss" onClick={dismiss}>
        ×
      </Button>
    </div>
  );
}
