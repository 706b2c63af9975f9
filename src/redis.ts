export { createRedisStore, type RedisClient, type RedisStoreOptions } from './store/redis.ts';
