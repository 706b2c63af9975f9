import type { FleetMember } from '../../../wire/messages.ts';
import { processesText } from '../../../wire/words/count.ts';
import { connection, replaceQuery, route, state } from '../page.ts';
import { Badge } from '../parts/badge.tsx';
import { roughSpan, utcTime } from '../parts/format.ts';
import { Empty, Loading, Notice } from '../parts/notice.tsx';
import { SearchBar } from '../parts/search-bar.tsx';
import { LongTable } from '../parts/tables.tsx';
import { Text } from '../parts/text.tsx';
import { Time } from '../parts/time.tsx';
import { usePolled } from '../parts/use-polled.ts';
import { behind, foundIn, versionsOf } from '../state/search.ts';
import { FleetSquares } from './fleet-squares.tsx';

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
  if (problem?.status === 403 && live !== undefined) {
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
  const versions = versionsOf(instances);
  const found = [...foundIn(lost, search), ...foundIn(instances, search)];
  const all = instances.length + lost.length;
  const isLost = (member: FleetMember) => lost.includes(member);
  const silence = ({ lastSeenAt }: FleetMember) => Math.max(0, (at ?? 0) - Date.parse(lastSeenAt));
  return (
    <div class="stack" aria-busy={isLoading}>
      <div class="bar">
        <FleetSquares members={[...instances, ...lost]} isLost={({ id }) => lost.some((each) => each.id === id)} />
        <span>{processesText(all)}</span>
        <span>revision {revision}</span>
        {versions.slice(0, 5).map(([version, count]) => (
          <span key={version} class="chip">
            <Text value={version} most={40} /> {versions.length > 1 && `× ${count}`}
          </span>
        ))}
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
          items={found}
          keyOf={({ id }) => id}
          classOf={(member) => (isLost(member) ? 'broken' : member.pending ? 'behind' : '')}
          columns={{
            Host: ({ host }) => <Text value={host} most={120} />,
            Process: ({ pid, service, id }) => <span title={`${service}, ${id}`}>{pid}</span>,
            Version: ({ version = '—' }) => <Text value={version} most={40} />,
            Revision: (member) => (
              <>
                {member.applied ?? 'none'} {isLost(member) && <Badge tone="error">not heard of</Badge>}
                {member.pending && !isLost(member) && <Badge tone="warning">{behind(member, revision)}</Badge>}
              </>
            ),
            'Last seen': (member) => (
              <span class={silence(member) > SILENT_MS ? 'wrong' : ''} title={utcTime(new Date(member.lastSeenAt))}>
                {silence(member) < 2000 ? 'now' : `${roughSpan(silence(member))} ago`}
              </span>
            ),
            Started: ({ startedAt }) => <Time at={startedAt} />,
          }}
        />
      )}
    </div>
  );
}
