import { auditRoutes } from '../audit/routes.ts';
import type { App } from '../http/app.ts';
import { userAdminRoutes } from '../users/members/admin-routes.ts';
import type { AdminDeps } from './admin-deps.ts';
import { configurationRoutes } from './configuration/routes.ts';
import { creditRoutes } from './credits/routes.ts';
import { keyRoutes } from './keys/routes.ts';
import { adminModelRoutes } from './models/routes.ts';
import { nameActors } from './name-actors.ts';
import { organizationRoutes } from './organizations/routes.ts';
import { adminUsageRoutes } from './usage-routes.ts';

/** `/v1/admin`: organizations, keys, users, credits, usage, model bindings and the audit log. */
export function adminRoutes(app: App, deps: AdminDeps): void {
  organizationRoutes(app, deps);
  keyRoutes(app, deps);
  creditRoutes(app, deps);
  adminUsageRoutes(app, deps);
  adminModelRoutes(app, deps);
  userAdminRoutes(app, deps);
  configurationRoutes(app, deps);
  auditRoutes(app, { ...deps, nameActors });
}
