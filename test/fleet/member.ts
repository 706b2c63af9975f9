// One process of a fleet: a service with three debug categories, under remote control on a port of its own. Its
// configuration is its argument; it tells its parent where it listens, and what its gate says when it is asked.
import { createRdcp } from 'opentelemetry-instrumentation-rdcp';

const rdcp = createRdcp(JSON.parse(process.argv[2] as string));
const categories = new Map(['DATABASE', 'HTTP', 'QUEUE'].map((name) => [name, rdcp.category(name)]));
const { url } = await rdcp.listen();

process.on('message', (name: string) => process.send?.({ name, enabled: categories.get(name)?.enabled === true }));
process.on('SIGTERM', () => void rdcp.close().then(() => process.disconnect()));
process.on('disconnect', () => process.exit());
process.send?.({ url });
