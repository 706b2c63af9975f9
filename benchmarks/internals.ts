export { systemClock } from '../src/clock.ts';
export { createControlPlane } from '../src/control/plane.ts';
export { createSink } from '../src/emit/sink.ts';
export { GateCore } from '../src/gate/core.ts';
export { createMemoryStore } from '../src/store/memory.ts';
export { Relay } from '../src/tail/relay.ts';
export { createTelemetry } from '../src/telemetry.ts';
