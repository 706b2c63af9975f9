import type { TestContext } from 'node:test';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import type { DebugRecord } from '../../src/wire/debug-record.ts';
import { RECORDS } from './server.ts';

/** A whole service, as an application creates it, until the test is over. What it writes is kept, and shown nowhere. */
export async function startService(
  t: TestContext,
  config: RdcpConfig = {},
  options: Parameters<typeof createRdcp>[1] = {},
) {
  const [lines, infos, records]: [string[], string[], DebugRecord[]] = [[], [], []];
  const say = (line: string) => void lines.push(line);
  const rdcp = createRdcp(
    {
      server: { port: 0 },
      security: { apiKeys: RECORDS },
      logger: { info: (line) => void (infos.push(line) && say(line)), warn: say, error: say },
      emit: { to: (record) => void records.push(record) },
      ...config,
    },
    options,
  );
  t.after(() => rdcp.close());
  const { url } = await rdcp.listen();
  return {
    rdcp,
    url,
    /** For its owner; `infos` are those that report no problem. */
    lines,
    infos,
    records,
    clientOf: (apiKey: string) => createRdcpClient({ baseUrl: url, apiKey }),
  };
}
