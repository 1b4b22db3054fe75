CREATE TABLE "upstream_models" (
	"model_id" text PRIMARY KEY NOT NULL,
	"routes" jsonb NOT NULL,
	"context_length" integer,
	"pricing" jsonb,
	"vision" boolean DEFAULT false NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "upstreams" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"protocol" text NOT NULL,
	"base_urls" jsonb NOT NULL,
	"sealed_api_key" text,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	CONSTRAINT "upstreams_by_name" UNIQUE("name")
);
