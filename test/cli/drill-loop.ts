import { renameSync, writeFileSync } from 'node:fs';
import { category, runWithTenant } from 'opentelemetry-instrumentation-rdcp/api';

// Loaded into each shop of the drill: a category in a hot loop, and a debug point of a customer, ten times a second, whose
// attributes are built only where they are shown.

const HOT = category('HOT_LOOP', { description: 'Called as often as the event loop turns' });
const DATABASE = category('DATABASE');
const file = process.env.DRILL_STATE ?? '';

const loop = () => {
  for (let call = 0; call < 20; call++) HOT.debug('again', { call });
  setTimeout(loop, 1).unref();
};
loop();
setInterval(() => {
  let wanted = false;
  runWithTenant('acme', () =>
    DATABASE.debug('probe', () => {
      wanted = true;
      return {};
    }),
  );
  // Whoever reads it meanwhile reads the one or the other.
  writeFileSync(`${file}.new`, wanted ? 'wanted' : 'quiet');
  renameSync(`${file}.new`, file);
}, 100).unref();
