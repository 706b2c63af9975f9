import type { FleetMember } from '../../../wire/messages.ts';
import { processesText } from '../../../wire/words/count.ts';
import { connection, now, replaceQuery, route, state } from '../page.ts';
import { Badge } from '../parts/badge.tsx';
import { roughSpan, utcTime } from '../parts/format.ts';
import { Empty, Loading, Notice } from '../parts/notice.tsx';
import { SearchBar } from '../parts/search-bar.tsx';
import { LongRow, LongTable } from '../parts/tables.tsx';
import { Text } from '../parts/text.tsx';
import { Time } from '../parts/time.tsx';
import { usePolled } from '../parts/use-polled.ts';
import { behind, foundIn, summaryOf } from './search.ts';

const HEAD = ['Host', 'Process', 'Version', 'Revision', 'Last seen', 'Started'];
const ROW_HEIGHT = 44;
/** How often the list is read again, in milliseconds: the event stream does not say when a process was last seen. */
const REFRESH_MS = 10_000;
/** A process that was silent for this long is shown as such, in milliseconds. */
const SILENT_MS = 10_000;

export function FleetView() {
  const live = state.fleet.value;
  const { value, problem, isLoading, at, refresh } = usePolled((signal) => connection.client.fleet({ signal }), {
    key: live,
    everyMs: REFRESH_MS,
  });
  const search = route.value.query.get('q') ?? '';
  if (problem?.kind === 'forbidden' && live !== undefined) {
    return (
      <Empty title={processesText(live.instances)}>
        <p>
          {live.applied} of {live.instances} have applied the newest change. Which hosts these are is not shown to
          tenants.
        </p>
      </Empty>
    );
  }
  if (value === undefined)
    return problem ? <Notice problem={problem} onRetry={refresh} /> : <Loading what="processes" />;
  const { instances, lost = [], revision } = value;
  const { total, pending, versions } = summaryOf(instances);
  const found = [...foundIn(lost, search), ...foundIn(instances, search)];
  const all = total + lost.length;
  return (
    <div class="stack" aria-busy={isLoading}>
      <div class="bar">
        {lost.length > 0 && <Badge tone="error">{lost.length} not heard of</Badge>}
        {(pending > 0 || lost.length === 0) && (
          <Badge tone={pending > 0 ? 'warning' : 'good'}>{pending > 0 ? `${pending} behind` : 'all up to date'}</Badge>
        )}
        <span>{processesText(all)}</span>
        <span>revision {revision}</span>
        <span class="bar">
          {(versions[0]?.[0] === '—' ? [] : versions.slice(0, 5)).map(([version, count]) => (
            <span key={version} class="chip">
              <Text value={version} most={40} /> {versions.length > 1 && `× ${count}`}
            </span>
          ))}
        </span>
      </div>
      {problem && <Notice problem={problem} onRetry={refresh} />}
      <SearchBar label="Search host, process id, version" value={search} onSearch={(q) => replaceQuery('fleet', { q })}>
        <span class="muted" role="status">
          {found.length < all && `${found.length} of ${all}`}
        </span>
      </SearchBar>
      {found.length === 0 ? (
        <Empty title="No process matches" />
      ) : (
        <LongTable
          label="Processes"
          kind="fleet-row"
          head={HEAD}
          items={found}
          keyOf={({ id }) => id}
          rowHeight={ROW_HEIGHT}
          renderRow={(member, index) => (
            <MemberRow member={member} isLost={lost.includes(member)} index={index} revision={revision} asOf={at} />
          )}
        />
      )}
    </div>
  );
}

function MemberRow({
  member,
  isLost,
  index,
  revision,
  asOf,
}: {
  readonly member: FleetMember;
  readonly isLost: boolean;
  readonly index: number;
  readonly revision: number;
  readonly asOf: number | undefined;
}) {
  const { host, pid, id, service, version = '—', pending, applied, lastSeenAt, startedAt } = member;
  const lacks = behind(member, revision);
  const silent = Math.max(0, (asOf ?? now.value) - Date.parse(lastSeenAt));
  return (
    <LongRow
      kind={`fleet-row ${isLost ? 'broken' : pending ? 'behind' : ''}`}
      index={index}
      cells={[
        <Text value={host} most={120} />,
        <span title={`${service}, ${id}`}>{pid}</span>,
        <Text value={version} most={40} />,
        <>
          {applied ?? 'none'} {isLost && <Badge tone="error">not heard of</Badge>}
          {pending && !isLost && (
            <Badge tone="warning">{lacks === undefined ? 'has applied none' : `behind by ${lacks}`}</Badge>
          )}
        </>,
        <span class={silent > SILENT_MS ? 'wrong' : ''} title={utcTime(new Date(lastSeenAt))}>
          {silent < 2000 ? 'now' : `${roughSpan(silent)} ago`}
        </span>,
        <Time at={startedAt} />,
      ]}
    />
  );
}
