import {run} from './zlive.ts'; setTimeout(()=>{console.error('TIMEOUT');process.exit(1)},75000).unref(); console.table(await run()); process.exit()
