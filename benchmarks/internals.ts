export { systemClock } from '../src/clock.ts';
export { createControlPlane } from '../src/control/plane.ts';
export { GateCore } from '../src/gate/core.ts';
export { createMemoryStore } from '../src/store/memory.ts';
