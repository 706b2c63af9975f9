import { isRdcpError } from '../../../wire/errors.ts';
import { isLoopback } from '../../../wire/net/hosts.ts';
import { type Command, EXIT, type Terminal } from '../command.ts';
import { type Access, accessOf, CREDENTIAL_OPTIONS, clientOf, tlsFetch } from '../connection.ts';

const { tenant: _, ...ACCESS_OPTIONS } = CREDENTIAL_OPTIONS;

export const consoleCommand: Command = {
  summary: "open the service's page for operators in a browser, signed in",
  options: {
    'no-open': { help: 'print the address instead of opening a browser' },
    ...ACCESS_OPTIONS,
  },
  notes: [
    'A one-time code in the address signs the browser in: it works once, within 60 seconds, and on the machine of the service',
    'alone. Elsewhere, and with a client certificate, the address comes without a code. Over SSH, forward the port:',
    'ssh -L 9465:127.0.0.1:9465 HOST, then rdcp console --no-open there, and open the address here.',
  ],
  examples: ['rdcp console', 'rdcp console --no-open', 'rdcp console --profile staging'],
  run: async (terminal, values) => {
    const access = accessOf(terminal, values);
    const client = clientOf(terminal, { ...access, tenantId: undefined });
    const { otelrdcp_console: page } = await client.wellKnown();
    if (page === undefined) {
      terminal.note('rdcp: this service serves no console: set its option console: true');
      return EXIT.refused;
    }
    const address = `${access.url.replace(/\/+$/, '')}${page.page}`;
    const get = access.tls ? tlsFetch(access.tls) : fetch;
    const answer = await get(address, {}).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer !== undefined && answer.status >= 400) {
      terminal.note(
        'rdcp: the service has no console files: it was bundled into one file without them; leave the package out of the bundle',
      );
      return EXIT.refused;
    }
    const code = await codeFor(terminal, access);
    const url = code === undefined ? address : `${address}#code=${code}`;
    if (values['no-open'] !== true && (await terminal.browse(url))) {
      terminal.note(`Opened ${address} in the browser${code === undefined ? '' : ', signed in'}.`);
      return EXIT.done;
    }
    if (code !== undefined) terminal.note('Open this address within 60 seconds; it signs in once:');
    terminal.out(url);
    return EXIT.done;
  },
};

/** `undefined` where a code would not help, with a note. */
async function codeFor(terminal: Terminal, access: Access): Promise<string | undefined> {
  const without = (why: string) => {
    terminal.note(`Without a code: ${why}.`);
    return undefined;
  };
  if (access.credential === undefined) {
    return without(access.tls === undefined ? 'no credential is configured here' : 'the client certificate signs in');
  }
  if (!isLoopback(new URL(access.url).hostname)) {
    return without('the service is on another machine; sign in on the page');
  }
  try {
    const { code } = await clientOf(terminal, { ...access, tenantId: undefined }).consoleCode();
    return code;
  } catch (error) {
    if (!isRdcpError(error) || error.details?.reason !== 'not_local') throw error;
    return without('the service is reached through a proxy; sign in on the page');
  }
}
