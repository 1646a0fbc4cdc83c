export { git, GitError } from './git/git.ts';
