import { render } from 'preact';
import { link, openApi } from './link/api.ts';
import { takeCredential } from './link/login.ts';
import { listenToKeys } from './keys.ts';
import { listenToLinks } from './router.ts';
import { Shell } from './shell.tsx';
import { keepLive } from './store/live.ts';
import { store } from './store/store.ts';
import { restoreTheme } from './theme.ts';
import './style/index.css';

restoreTheme();
listenToLinks();
listenToKeys();

try {
  const credential = await takeCredential();
  if (credential === null)
    link.value = { state: 'refused', why: 'It has to be opened from the command line.' };
  else {
    openApi(credential);
    keepLive(store);
  }
} catch (error) {
  link.value = { state: 'refused', why: error instanceof Error ? error.message : String(error) };
}
const root = document.getElementById('app');
if (root) render(<Shell />, root);
