/** A path for an SVG `d`, in a box of `width` by `height`; gaps (`NaN`) interrupt it. Empty where nothing was seen. */
export function sparklinePath(rates: ArrayLike<number>, width: number, height: number): string {
  const values = Array.from(rates);
  const peak = Math.max(0, ...values.filter((value) => !Number.isNaN(value)));
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  return values
    .map((value, at) => {
      if (Number.isNaN(value)) return '';
      const isGap = at === 0 || Number.isNaN(values[at - 1]);
      const y = peak === 0 ? height : height - (value / peak) * height;
      return `${isGap ? 'M' : 'L'}${short(at * step)} ${short(y)}`;
    })
    .join('');
}

function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}
