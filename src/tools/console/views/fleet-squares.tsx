import type { FleetMember } from '../../../wire/messages.ts';
import { Square } from '../parts/pictures.tsx';

type Member = Pick<FleetMember, 'id' | 'host' | 'pid' | 'version' | 'pending'>;

interface FleetSquaresProps {
  readonly members: readonly Member[];
  readonly isLost: (member: Member) => boolean;
}

/** Most squares. Of a larger fleet those that are up to date have one together. */
const MOST = 100;

/** A square for each process, by kind. The list of processes says the same. */
export function FleetSquares({ members, isLost }: FleetSquaresProps) {
  const kindOf = (member: Member) => (isLost(member) ? 'error' : member.pending ? 'warning' : 'on');
  const kinds = Map.groupBy(members, kindOf);
  const isSmall = members.length <= MOST;
  const words = { on: 'up to date', warning: 'behind', error: 'not heard of' };
  return (
    <div class="bar">
      {[...kinds].map(([kind, all]) => (
        <div key={kind} class="bar legend">
          {all.slice(0, isSmall || kind !== 'on' ? MOST : 1).map(({ id, host, pid, version }) => (
            <Square
              key={id}
              tone={kind}
              title={`${host}:${pid} ${[version, words[kind]].filter(Boolean).join(', ')}`}
            />
          ))}
          {all.length} {words[kind]}
        </div>
      ))}
    </div>
  );
}
