// Three services behind each other, and one request through all of them: npm run example:one-request.
import { openRedis } from '../fleet/redis.ts';
import { guide } from './guide.ts';
import { startServices } from './services.ts';
import { startTraffic } from './traffic.ts';

const redis = await openRedis(process.env.REDIS_URL).catch((error: Error) => {
  console.error(`The example ${error.message}.`);
  process.exit(1);
});
const ports = {
  storefront: Number(process.env.PORT ?? 8080),
  control: Number(process.env.RDCP_PORT ?? 9465),
  shippingControl: Number(process.env.SHIPPING_RDCP_PORT ?? 9466),
};
const services = await startServices(ports, redis.url, (line) => console.error(line)).catch(async (error: Error) => {
  console.error(error.message);
  await redis.close();
  process.exit(1);
});
const traffic = startTraffic(services.storefront, Number(process.env.RATE ?? 20));

let isClosing = false;
const close = async () => {
  if (isClosing) return;
  isClosing = true;
  console.log(await traffic.stop());
  await services.close();
  await redis.close();
};
process.on('SIGTERM', close);
process.on('SIGINT', close);
console.log(guide({ ...services, perSecond: traffic.perSecond }));
