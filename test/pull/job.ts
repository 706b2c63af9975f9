// A job without a port, under remote control by a document. Its configuration is its argument; its debug lines go to stdout with their
// time, and
// with `short` it has nothing more to do once it gets a message.
import { createRdcp } from 'opentelemetry-instrumentation-rdcp';
import { category, runWithAttributes } from 'opentelemetry-instrumentation-rdcp/api';

const rdcp = createRdcp({
  ...JSON.parse(process.argv[2] as string),
  server: false,
  emit: { to: ({ message }) => void process.stdout.write(`${Date.now()} ${message}\n`) },
});
if (process.argv[3] === 'short') process.once('message', () => process.disconnect());
else {
  // Made only now, as most categories of an application are.
  setTimeout(() => {
    const rows = category('IMPORT');
    setInterval(() => {
      for (const user of ['42', '43']) runWithAttributes({ 'user.id': user }, () => rows.debug(`row of ${user}`));
    }, 10);
  }, 100);
  process.on('message', () => void rdcp.close().then(() => process.exit()));
}
