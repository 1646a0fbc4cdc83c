export {
  Navigation,
  NAVIGATION_DEFAULTS,
  type NavigationOptions,
  type NavigationSettings,
} from './navigation.ts';
export type { Launch, LaunchOptions, Launched, Place } from './place.ts';
export { findServer, serversHere, type ServerHere } from './servers.ts';
