export { createClient, type Client, type ClientOptions } from './client.ts';
export * from './contract.ts';
export type { FollowOptions } from './follow.ts';
export * from './operations.ts';
export type { Endpoint } from './request.ts';
export * from './views.ts';
