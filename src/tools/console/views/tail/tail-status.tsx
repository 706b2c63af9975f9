import { useEffect } from 'preact/hooks';
import { counted, processesText } from '../../../../wire/words/count.ts';
import { state } from '../../page.ts';
import { Badge, type Tone } from '../../parts/badge.tsx';
import { TimeLeft } from '../../parts/time.tsx';
import { tail, version } from './running-tail.ts';
import type { TailPhase } from './tail-session.ts';

/** How often a running tail says to screen readers how far it is, in milliseconds. */
const SUMMARY_MS = 30_000;

const PHASES: Readonly<Record<TailPhase, readonly [Tone, string]>> = {
  idle: ['neutral', 'Not started'],
  opening: ['neutral', 'Starting'],
  running: ['on', 'Live'],
  lost: ['warning', 'Reconnecting'],
  ended: ['neutral', 'Ended'],
};

/** How the tail goes. */
export function TailStatus() {
  // A component that reads any signal is drawn again for signals only.
  void version.value;
  const { log, dropped, asked, processes, phase, isRunning, deadline } = tail;
  const isSilent = phase === 'running' && state.link.value.state === 'silent';
  const [tone, text]: (typeof PHASES)[TailPhase] = isSilent ? ['warning', 'Silent'] : PHASES[phase];
  const here = [...processes.values()].filter(Boolean).length;
  return (
    <div class="bar status">
      <Badge tone={tone}>{text}</Badge>
      {isRunning && <TimeLeft until={new Date(deadline).toISOString()} />}
      {phase === 'running' && (
        <span class={here < asked ? 'wrong' : ''}>
          {here} of {processesText(Math.max(asked, here))}
        </span>
      )}
      <span>{counted(log.lines, 'line')}</span>
      {dropped > 0 && <span class="wrong">{dropped.toLocaleString()} dropped</span>}
      {log.forgotten > 0 && <span class="muted">the newest {log.size.toLocaleString()} are kept</span>}
    </div>
  );
}

/** Beginning, end and every half minute, in every view: screen readers hear how it goes, not every line. */
export function TailSummary() {
  void version.value;
  const { phase } = tail;
  useEffect(() => {
    if (phase === 'idle') return undefined;
    const say = () =>
      (state.announcement.value = `Tail ${PHASES[phase][1].toLowerCase()}, ${counted(tail.log.lines, 'line')}`);
    say();
    if (phase !== 'running') return undefined;
    const timer = setInterval(say, SUMMARY_MS);
    return () => clearInterval(timer);
  }, [phase]);
  return null;
}
