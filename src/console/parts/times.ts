/** Such as `2026-11-22 11:49:13 UTC`. */
export function utcTime(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** In the browser's zone and the page's form: the time alone for today, with the date before it otherwise. */
export function clockTime(date: Date, now = new Date()): string {
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return date.toDateString() === now.toDateString() ? time : `${day} ${time}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
