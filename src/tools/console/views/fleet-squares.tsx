import type { FleetMember } from '../../../wire/messages.ts';
import { Legend, Square } from '../parts/pictures.tsx';

type Member = Pick<FleetMember, 'id' | 'host' | 'pid' | 'version' | 'pending'>;

interface FleetSquaresProps {
  readonly members: readonly Member[];
  readonly isLost: (member: Member) => boolean;
}

/** Most squares. Of a larger fleet only what needs attention has one. */
const MOST = 100;

/** A square for each process, and how many there are of each kind. The list of processes says the same. */
export function FleetSquares({ members, isLost }: FleetSquaresProps) {
  const kindOf = (member: Member) => (isLost(member) ? 'error' : member.pending ? 'warning' : 'on');
  const kinds = Map.groupBy(members, kindOf);
  const isSmall = members.length <= MOST;
  const words = { on: 'up to date', warning: 'behind', error: 'not heard of' };
  return (
    <div class="bar">
      <div class="bar">
        {(isSmall ? members : members.filter((member) => kindOf(member) !== 'on')).slice(0, MOST).map((member) => (
          <Square
            key={member.id}
            tone={kindOf(member)}
            title={`${member.host}:${member.pid} ${[member.version, words[kindOf(member)]].filter(Boolean).join(', ')}`}
          />
        ))}
      </div>
      <Legend of={[...kinds].map(([kind, { length }]) => [kind, `${length} ${words[kind]}`])} />
    </div>
  );
}
