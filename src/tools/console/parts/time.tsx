import { now } from '../page.ts';
import { clockSpan, clockTime, roughSpan, utcTime } from './format.ts';

/** A point in time: in the browser's zone, with UTC in the title. */
export function Time({ at }: { readonly at: string }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>{at.slice(0, 40)}</span>;
  return (
    <time dateTime={date.toISOString()} title={utcTime(date)}>
      {clockTime(date)}
    </time>
  );
}

/** A clock that runs down. */
export function TimeLeft({ until }: { readonly until: string }) {
  const left = Date.parse(until) - now.value;
  const end = new Date(until);
  return (
    <time class="clock" dateTime={until} title={`until ${clockTime(end)} (${utcTime(end)})`}>
      <span aria-hidden="true">{clockSpan(left)}</span>
      <span class="visually-hidden">{roughSpan(left)} left</span>
    </time>
  );
}
