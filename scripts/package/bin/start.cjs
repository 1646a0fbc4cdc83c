'use strict';

import('../lib/cli.js');
