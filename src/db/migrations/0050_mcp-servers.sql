CREATE TABLE "mcp_servers" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"label" text NOT NULL,
	"url" text NOT NULL,
	"description" text,
	"header_names" jsonb NOT NULL,
	"sealed_headers" text,
	"allowed_tools" jsonb,
	"require_approval" jsonb NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "mcp_servers_by_label" ON "mcp_servers" USING btree ("organization_id","label");