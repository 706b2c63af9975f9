import { createListener } from '../../src/endpoint/connections/listener.ts';
import { parseConfig } from '../../src/options/config.ts';

// Listens as its argument says, tells where, and lives only for as long as its standard input is open.

const config = parseConfig({ server: { port: 0, ...JSON.parse(process.argv[2] ?? '{}') } }).server;
if (config === false) throw new Error('a process that is to listen needs a server');
const { url } = await createListener(config, (_req, res) => res.end('hello')).listen();
console.log(url);
process.stdin.resume();
