import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MOST_COLOURS = 256;

/** The same picture with 256 colours, in half the bytes or fewer. For 8-bit RGB and RGBA without interlacing, as browsers write. */
export function withPalette(png: Buffer): Buffer {
  const { width, height, channels, data } = decode(png);
  const counts = new Map<number, number>();
  const colours = new Uint32Array(width * height);
  for (let pixel = 0; pixel < colours.length; pixel += 1) {
    const at = pixel * channels;
    const colour = ((data[at] ?? 0) << 16) | ((data[at + 1] ?? 0) << 8) | (data[at + 2] ?? 0);
    colours[pixel] = colour;
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  // Ties by colour, so that the same picture always has the same palette.
  const frequent = [...counts].sort((one, other) => other[1] - one[1] || one[0] - other[0]).map(([colour]) => colour);
  const palette = frequent.slice(0, MOST_COLOURS);
  const indexOf = new Map(frequent.map((colour) => [colour, nearest(colour, palette)]));
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) rows[y * (width + 1) + 1 + x] = indexOf.get(colours[y * width + x] ?? 0) ?? 0;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const entries = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', entries),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function nearest(colour: number, palette: readonly number[]): number {
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  for (const [index, known] of palette.entries()) {
    const distance = [16, 8, 0].reduce((sum, shift) => {
      const apart = ((colour >> shift) & 255) - ((known >> shift) & 255);
      return sum + apart * apart;
    }, 0);
    if (distance >= least) continue;
    best = index;
    least = distance;
    if (least === 0) break;
  }
  return best;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), framed.length - 4);
  return framed;
}

/** Undoes the filters of each line (PNG, section 9). */
function decode(png: Buffer) {
  const parts: Buffer[] = [];
  let [width, height, channels] = [0, 0, 0];
  for (let at = SIGNATURE.length; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const type = png.toString('latin1', at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + png.readUInt32BE(at));
    if (type === 'IHDR') {
      [width, height, channels] = [body.readUInt32BE(0), body.readUInt32BE(4), body[9] === 6 ? 4 : 3];
    } else if (type === 'IDAT') parts.push(body);
  }
  const raw = inflateSync(Buffer.concat(parts));
  const stride = width * channels;
  const data = new Uint8Array(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (stride + 1)];
    for (let x = 0; x < stride; x += 1) {
      const left = x < channels ? 0 : (data[y * stride + x - channels] ?? 0);
      const up = y === 0 ? 0 : (data[(y - 1) * stride + x] ?? 0);
      const upLeft = y === 0 || x < channels ? 0 : (data[(y - 1) * stride + x - channels] ?? 0);
      const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, upLeft)][filter ?? 0] ?? 0;
      data[y * stride + x] = (raw[y * (stride + 1) + 1 + x] ?? 0) + predicted;
    }
  }
  return { width, height, channels, data };
}

function paeth(left: number, up: number, upLeft: number): number {
  const estimate = left + up - upLeft;
  const [toLeft, toUp, toUpLeft] = [left, up, upLeft].map((value) => Math.abs(estimate - value)) as [
    number,
    number,
    number,
  ];
  if (toLeft <= toUp && toLeft <= toUpLeft) return left;
  return toUp <= toUpLeft ? up : upLeft;
}
