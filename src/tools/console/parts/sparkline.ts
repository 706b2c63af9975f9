/** A path for an SVG `d`, in a box of `width` by `height`; gaps (`NaN`) interrupt it. Empty where nothing was seen. */
export function sparklinePath(rates: ArrayLike<number>, width: number, height: number, points = 60): string {
  const values = thinned(rates, points);
  const peak = Math.max(0, ...values.filter((value) => !Number.isNaN(value)));
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  let path = '';
  let drawing = false;
  values.forEach((value, at) => {
    if (Number.isNaN(value)) {
      drawing = false;
      return;
    }
    const y = peak === 0 ? height : height - (value / peak) * height;
    path += `${drawing ? 'L' : 'M'}${short(at * step)} ${short(y)}`;
    drawing = true;
  });
  return path;
}

/** The highest of each stretch, so that a short burst stays visible. */
function thinned(rates: ArrayLike<number>, points: number): number[] {
  const each = rates.length / points;
  if (each <= 1) return Array.from(rates);
  return Array.from({ length: points }, (_, at) => {
    let most = Number.NaN;
    for (let index = Math.floor(at * each); index < Math.floor((at + 1) * each); index++) {
      const rate = rates[index] ?? Number.NaN;
      if (!(rate <= most) && !Number.isNaN(rate)) most = rate;
    }
    return most;
  });
}

function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}
