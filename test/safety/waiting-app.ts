// An application that knows nothing of remote control but its debug categories, and handles no signal.
import { category } from 'opentelemetry-instrumentation-rdcp/api';
import { CATEGORIES } from '../support/categories.ts';

const categories = CATEGORIES.map((name) => category(name));
setInterval(() => {
  for (const each of categories) each.debug('at work');
}, 100);
