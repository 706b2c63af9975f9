import { breakingConnections } from './redis-breaking.ts';

breakingConnections({ processes: 6, toggles: 40 });
