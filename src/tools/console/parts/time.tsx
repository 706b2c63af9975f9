import { clockTime } from '../../../wire/words/time.ts';
import { now } from '../page.ts';
import { clockSpan, roughSpan, utcTime } from './format.ts';

/** A point in time: in the browser's zone, with UTC in the title. */
export function Time({ at }: { readonly at: string }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>{at.slice(0, 40)}</span>;
  return (
    <time dateTime={date.toISOString()} title={utcTime(date)}>
      {clockTime(at)}
    </time>
  );
}

/** A clock that runs down. */
export function TimeLeft({ until }: { readonly until: string }) {
  const left = Date.parse(until) - now.value;
  const end = new Date(until);
  return (
    <time class="clock" dateTime={until} title={`until ${clockTime(until)} (${utcTime(end)})`}>
      <span aria-hidden="true">{clockSpan(left)}</span>
      <span class="visually-hidden">{roughSpan(left)} left</span>
    </time>
  );
}

/** How long ago something was, in milliseconds since the epoch. */
export function Ago({ at }: { readonly at: number }) {
  const passed = now.value - at;
  return <>{passed < 2000 ? 'just now' : `${roughSpan(passed)} ago`}</>;
}
