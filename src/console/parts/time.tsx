import { clockTime, utcTime } from './times.ts';

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
